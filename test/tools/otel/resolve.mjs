// The packages of OpenTelemetry for src/otel.ts, which in a clone has none: those of this folder.
import { registerHooks } from 'node:module';

registerHooks({
  resolve: (specifier, context, next) =>
    next(
      specifier,
      specifier.startsWith('@opentelemetry/') && context.parentURL?.endsWith('/src/otel.ts')
        ? { ...context, parentURL: import.meta.url }
        : context,
    ),
});
