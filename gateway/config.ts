import { type Env, EnvReader } from '#common/env.ts'
import { trustedProxies } from './http/trusted-proxies.ts'

export const GATEWAY_PREFIX = 'GATEWAY_'

/** Everything an operator can set on a gateway. */
export interface GatewayConfig {
  readonly listenHost: string
  /** 0 takes any free port. */
  readonly port: number
  /** Where clients reach this deployment; without it, links follow the Host header. */
  readonly publicUrl: string | undefined
  /** Addresses and CIDR blocks whose X-Forwarded-* headers count. */
  readonly trustedProxies: readonly string[]
  readonly databaseUrl: string
  readonly databaseConnections: number
  readonly region: string
  readonly tokenLifetimeS: number
  readonly logLevel: LogLevel
}

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

const PORT_MAX = 65_535
const TOKEN_LIFETIME_S = { usual: 3_600, min: 60, max: 86_400 } as const

/** Reads GATEWAY_* variables; throws one plain Error that names every problem. */
export function configFromEnv(env: Env): GatewayConfig {
  const read = new EnvReader(env, GATEWAY_PREFIX)
  const { usual, min, max } = TOKEN_LIFETIME_S
  const config: GatewayConfig = {
    listenHost: read.text('LISTEN_HOST', '127.0.0.1'),
    port: read.integer('PORT', 8774, 0, PORT_MAX),
    publicUrl: read.optionalText('PUBLIC_URL'),
    trustedProxies: read.list('TRUSTED_PROXIES'),
    databaseUrl: read.secret('DATABASE_URL'),
    databaseConnections: read.integer('DATABASE_CONNECTIONS', 16, 1, 1_000),
    region: read.text('REGION', 'RegionOne'),
    tokenLifetimeS: read.integer('TOKEN_LIFETIME_S', usual, min, max),
    logLevel: read.choice('LOG_LEVEL', LOG_LEVELS, 'info'),
  }
  read.finish()
  trustedProxies(config.trustedProxies)
  if (config.publicUrl !== undefined) assertPublicUrl(config.publicUrl)
  return config
}

function assertPublicUrl(text: string): void {
  const url = URL.parse(text)
  const isPlain =
    url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  if (!isPlain)
    throw new Error(`Configuration:\n  GATEWAY_PUBLIC_URL: ${text} is not an http(s) URL`)
}
