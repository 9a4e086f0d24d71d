import { systemClock } from '../clock.ts'
import type { Env } from '../env.ts'
import type { Logger } from '../log.ts'
import { readRelease } from '../release.ts'
import { traceExportFromEnv } from './settings.ts'
import { spanMeasure } from './span.ts'

/** The program whose spans they are. */
export interface Recorder {
  readonly program: 'gateway' | 'cell' | 'compute'
  /** Of this process, among those of its kind. */
  readonly process: string
}

/**
 * Where a collector is set, the spans of this process are sent to it until this is disposed; otherwise none are recorded. Throws
 * `SettingsError` for wrong `OTEL_*` variables.
 */
export async function recordSpans(
  env: Env,
  { program, process }: Recorder,
  log: Logger,
): Promise<AsyncDisposable> {
  await using owned = new AsyncDisposableStack()
  const settings = traceExportFromEnv(env)
  if (settings === undefined) return owned.move()
  // Loaded only here: most programs need not hold it.
  const { SpanExporter } = await import('./span-exporter.ts')
  const release = readRelease()
  const resource = {
    ...settings.attributes,
    'service.namespace': 'weir',
    'service.name': `weir-${program}`,
    'service.instance.id': process,
    'service.version': release,
  }
  const exporter = owned.use(
    new SpanExporter({ settings, resource, release, clock: systemClock, log }),
  )
  owned.use(spanMeasure.listen((span) => exporter.add(span)))
  log.info({ url: settings.url }, 'spans are sent')
  return owned.move()
}
