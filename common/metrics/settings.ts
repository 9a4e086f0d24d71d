import type { EnvReader } from '../env.ts'

/** Where a program serves `/metrics`. */
export interface MetricsSettings {
  /** 0: any free port. */
  readonly port: number
  readonly address: string
  /** What monitoring sends as `Authorization: Bearer TOKEN`; undefined: nothing. */
  readonly token: string | undefined
  /** The folder in which the program names itself to Prometheus; undefined: nowhere. */
  readonly targetsDirectory: string | undefined
}

const PORT_MAX = 65_535

/** Undefined where no port is set: then none are served. Without a token only the machine itself may read them. */
export function readMetrics(read: EnvReader): MetricsSettings | undefined {
  const isServed = read.optionalText('METRICS_PORT') !== undefined
  const port = read.integer('METRICS_PORT', 0, 0, PORT_MAX)
  const address = read.text('METRICS_ADDRESS', '127.0.0.1')
  const token = read.optionalSecret('METRICS_TOKEN')
  const targetsDirectory = read.optionalText('METRICS_TARGETS')
  const isOwn = address === '::1' || address.startsWith('127.')
  // Reported as missing.
  if (isServed && !isOwn && token === undefined) read.text('METRICS_TOKEN')
  return isServed ? { port, address, token, targetsDirectory } : undefined
}
