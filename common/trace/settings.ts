import { type Env, EnvReader, SettingsError } from '../env.ts'

/** Where and how a program sends the spans that it records. */
export interface TraceExportSettings {
  /** The URL that takes requests of OTLP/HTTP. */
  readonly url: string
  /** Sent with each request, such as a key of the service there. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Spans that wait; those that come beyond are dropped. */
  readonly queueMax: number
  readonly batchMax: number
  /** How long spans are gathered. */
  readonly delayMs: number
  /** Of the program, besides its name and process. */
  readonly attributes: Readonly<Record<string, string>>
}

/** Of the variables that OpenTelemetry specifies for exporters, with its defaults. Every program reads the same. */
export const OTEL_PREFIX = 'OTEL_'

const SCHEMES = ['http', 'https']
const TIMEOUT_MS = { usual: 10_000, min: 1, max: 600_000 } as const
const QUEUE = { usual: 2_048, min: 1, max: 1_000_000 } as const
const BATCH = { usual: 512, min: 1, max: 10_000 } as const
const DELAY_MS = { usual: 5_000, min: 1, max: 600_000 } as const

/**
 * Reads the `OTEL_*` variables; undefined where no endpoint is set: then no spans are recorded. Throws one error that
 * names every problem. Variables that only other programs know are let be, unless `isStrict`.
 */
export function traceExportFromEnv(env: Env, isStrict = false): TraceExportSettings | undefined {
  const read = new EnvReader(isStrict ? env : ownOf(env), OTEL_PREFIX)
  const url = readUrl(read)
  const headers = read.optionalSecret('EXPORTER_OTLP_HEADERS')
  const settings = {
    headers: pairs('EXPORTER_OTLP_HEADERS', headers),
    timeoutMs: read.integer('EXPORTER_OTLP_TIMEOUT', ...bounds(TIMEOUT_MS)),
    queueMax: read.integer('BSP_MAX_QUEUE_SIZE', ...bounds(QUEUE)),
    batchMax: read.integer('BSP_MAX_EXPORT_BATCH_SIZE', ...bounds(BATCH)),
    delayMs: read.integer('BSP_SCHEDULE_DELAY', ...bounds(DELAY_MS)),
    attributes: pairs('RESOURCE_ATTRIBUTES', read.optionalText('RESOURCE_ATTRIBUTES')),
  }
  read.finish()
  return url === undefined ? undefined : { url, ...settings }
}

function readUrl(read: EnvReader): string | undefined {
  const base = oneUrl(read, 'EXPORTER_OTLP_ENDPOINT')
  const whole = oneUrl(read, 'EXPORTER_OTLP_TRACES_ENDPOINT')
  return whole ?? (base && `${base.replace(/\/$/, '')}/v1/traces`)
}

function oneUrl(read: EnvReader, name: string): string | undefined {
  const url = read.optionalUrls(name, SCHEMES)
  if (url?.includes(',') === true)
    throw new SettingsError([`${OTEL_PREFIX}${name}: ${url} are several addresses; give one`])
  return url
}

/** The variables that are read here, those with the name of a file included. */
const OWN = [
  'EXPORTER_OTLP_ENDPOINT',
  'EXPORTER_OTLP_TRACES_ENDPOINT',
  'EXPORTER_OTLP_HEADERS',
  'EXPORTER_OTLP_HEADERS_FILE',
  'EXPORTER_OTLP_TIMEOUT',
  'BSP_MAX_QUEUE_SIZE',
  'BSP_MAX_EXPORT_BATCH_SIZE',
  'BSP_SCHEDULE_DELAY',
  'RESOURCE_ATTRIBUTES',
].map((name) => `${OTEL_PREFIX}${name}`)

function ownOf(env: Env): Env {
  return Object.fromEntries(OWN.map((name) => [name, env[name]]))
}

function bounds({
  usual,
  min,
  max,
}: typeof TIMEOUT_MS | typeof QUEUE | typeof BATCH | typeof DELAY_MS) {
  return [usual, min, max] as const
}

/** `NAME=VALUE,…`, with values escaped as in a URL. */
function pairs(name: string, text: string | undefined): Readonly<Record<string, string>> {
  const parts = (text ?? '').split(',').filter((part) => part.trim() !== '')
  return Object.fromEntries(
    parts.map((part) => {
      const at = part.indexOf('=')
      const value = decoded(part.slice(at + 1).trim())
      // The value may be a secret.
      if (at < 1 || value === undefined)
        throw new SettingsError([
          `${OTEL_PREFIX}${name}: give NAME=VALUE, several with commas between them, and values escaped as in a URL`,
        ])
      return [part.slice(0, at).trim(), value]
    }),
  )
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
