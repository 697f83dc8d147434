// Turns the messages of tracing.ts into OpenTelemetry spans: `node --import workspace-data-api/otel … serve`. Each request is
// one span, with the caller's traceparent, and each of its statements a child; a call of an agent with a traceparent of its
// own is one more. The packages of OpenTelemetry are no dependencies of ours: users who want traces install them, so the
// types of the few parts in use are declared here. Settings are those of OpenTelemetry (OTEL_EXPORTER_OTLP_ENDPOINT,
// OTEL_SERVICE_NAME and others).
import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import type { CallTrace, RequestTrace, StatementTrace, StopTrace } from './tracing.ts';

type Attributes = Readonly<Record<string, string | number>>;

interface Span {
  setAttributes(attributes: Attributes): void;
  setStatus(status: { readonly code: number }): void;
  spanContext(): object;
  end(time: number): void;
}

type Context = object;

interface SpanOptions {
  readonly kind: number;
  readonly startTime: number;
  readonly attributes?: Attributes;
  readonly links?: readonly { readonly context: object }[];
}

interface Api {
  readonly ROOT_CONTEXT: Context;
  readonly propagation: { extract(context: Context, carrier: object): Context };
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string, options: SpanOptions, context: Context): Span;
    };
    getTracerProvider(): { getDelegateTracer?(name: string): unknown };
    setSpan(context: Context, span: Span): Context;
    getSpanContext(context: Context): object | undefined;
  };
}

interface Resource {
  merge(other: Resource): Resource;
}

interface Sdk {
  readonly NodeTracerProvider: new (options: object) => { register(): void; forceFlush(): Promise<void> };
  readonly BatchSpanProcessor: new (exporter: object) => object;
}

interface Exporter {
  readonly OTLPTraceExporter: new () => object;
}

interface Resources {
  readonly defaultResource: () => Resource;
  readonly resourceFromAttributes: (attributes: Attributes) => Resource;
  readonly detectResources: (options: { readonly detectors: readonly unknown[] }) => Resource;
  readonly envDetector: unknown;
}

// Values of SpanKind and SpanStatusCode.
const [SERVER, CLIENT, ERROR] = [1, 2, 2];
const NAME = 'workspace-data-api';
// Versions that fit together: npm refuses the newest of each, as sdk-trace-node has not followed the others to 3.
const PACKAGES = {
  '@opentelemetry/api': '1.9',
  '@opentelemetry/sdk-trace-node': '2',
  '@opentelemetry/exporter-trace-otlp-http': '0.223',
  '@opentelemetry/resources': '2',
};

const [api, sdk, exporter, resources] = (await Promise.all(
  Object.keys(PACKAGES).map((name) =>
    import(name).catch((error: Error) => {
      const packages = Object.entries(PACKAGES).map((parts) => parts.join('@'));
      throw new Error(`Traces need packages that are not there: npm install ${packages.join(' ')}`, { cause: error });
    }),
  ),
)) as [Api, Sdk, Exporter, Resources];

const { trace, propagation, ROOT_CONTEXT } = api;
// The application may have registered a provider already.
if (trace.getTracerProvider().getDelegateTracer?.(NAME) === undefined) {
  const { defaultResource, resourceFromAttributes, detectResources, envDetector } = resources;
  const provider = new sdk.NodeTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': NAME }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new sdk.BatchSpanProcessor(new exporter.OTLPTraceExporter())],
  });
  provider.register();
  channel('wda:stop').subscribe((message) => (message as StopTrace).wait(provider.forceFlush()));
}

const tracer = trace.getTracer(NAME);
const spans = new WeakMap<object, { readonly span: Span; readonly context: Context }>();
const current = new AsyncLocalStorage<object>();

const toEpochMs = (at: number): number => performance.timeOrigin + at;

function onRequest(request: RequestTrace): void {
  if (request.phase === 'asked') {
    const { method, operation, traceparent, tracestate, startedAt } = request;
    const parentContext = propagation.extract(ROOT_CONTEXT, { traceparent, tracestate });
    const attributes = { 'http.request.method': method, 'url.scheme': 'http', 'wda.request_id': request.id };
    const startTime = toEpochMs(startedAt);
    const name = `${method} ${parseRoute(operation) ?? operation}`;
    const span = tracer.startSpan(name, { kind: SERVER, startTime, attributes }, parentContext);
    spans.set(request, { span, context: trace.setSpan(parentContext, span) });
    return;
  }
  const { status = 0, endedAt = 0, operation } = request;
  const span = spans.get(request)?.span;
  const route = parseRoute(operation);
  span?.setAttributes({
    'http.response.status_code': status,
    ...(route === undefined ? {} : { 'http.route': route }),
    'wda.operation': operation,
    ...getWorkspaceAttributes(request, status),
    ...(status >= 500 ? { 'error.type': String(status) } : {}),
  });
  if (status >= 500) span?.setStatus({ code: ERROR });
  span?.end(toEpochMs(endedAt));
}

/**
 * Starts the span of a call as a child of the traceparent in its message, linked to the span of the request, which was
 * started before the message was read. Returns the parent of the call's statements.
 */
function startCall(call: CallTrace): object | undefined {
  const { id, operation, traceparent, tracestate, startedAt } = call;
  const request = current.getStore();
  const parentContext = propagation.extract(ROOT_CONTEXT, { traceparent, tracestate });
  if (trace.getSpanContext(parentContext) === undefined) return request;
  const attributes = { 'wda.operation': operation, 'wda.request_id': id };
  const parent = request === undefined ? undefined : spans.get(request);
  const links = parent === undefined ? [] : [{ context: parent.span.spanContext() }];
  const span = tracer.startSpan(
    operation,
    { kind: SERVER, startTime: toEpochMs(startedAt), attributes, links },
    parentContext,
  );
  spans.set(call, { span, context: trace.setSpan(parentContext, span) });
  return call;
}

/** Returns the path of a route, whose operation is its method and path. */
const parseRoute = (operation: string): string | undefined => /^[A-Z]+ (\/.*)$/.exec(operation)?.[1];

/**
 * Returns the workspace and entity of a path, if the status says that they exist: otherwise a path may hold anything that a
 * client typed.
 */
function getWorkspaceAttributes({ path }: RequestTrace, status: number): Attributes {
  const [, , version, organization, workspace, entity = '_'] = path.split('/');
  if (status >= 400 || version !== 'v1' || workspace === undefined) return {};
  const attributes = { 'wda.workspace': `${organization}/${workspace}` };
  return entity.startsWith('_') ? attributes : { ...attributes, 'wda.entity': entity };
}

function onStatement(statement: StatementTrace): void {
  if (statement.phase === 'asked') {
    const request = current.getStore();
    const parent = request === undefined ? undefined : spans.get(request);
    // Statements of the server itself would make traces without a request.
    if (parent === undefined) return;
    const { operation = 'EXECUTE', pool, startedAt } = statement;
    const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': operation, 'wda.pool': pool };
    const startTime = toEpochMs(startedAt);
    const span = tracer.startSpan(operation, { kind: CLIENT, startTime, attributes }, parent.context);
    spans.set(statement, { span, context: parent.context });
    return;
  }
  const { rows, error, endedAt = 0 } = statement;
  const span = spans.get(statement)?.span;
  if (rows !== undefined) span?.setAttributes({ 'db.response.returned_rows': rows });
  if (error !== undefined) {
    span?.setAttributes({ 'error.type': error });
    span?.setStatus({ code: ERROR });
  }
  span?.end(toEpochMs(endedAt));
}

const requests = channel<object>('wda:request');
requests.bindStore(current);
requests.subscribe((message) => onRequest(message as RequestTrace));
const calls = channel<object>('wda:call');
calls.bindStore(current, (call) => startCall(call as CallTrace) as object);
calls.subscribe((message) => {
  const call = message as CallTrace;
  if (call.phase === 'answered') spans.get(call)?.span.end(toEpochMs(call.endedAt ?? 0));
});
channel('wda:statement').subscribe((message) => onStatement(message as StatementTrace));
