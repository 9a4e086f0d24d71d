import type { Pool } from 'undici'
import { Failure } from '#common/errors.ts'
import { pemFile } from '../../pem-file.ts'

export interface EndpointSettings {
  /** `unix:///PATH`, `tcp://HOST:PORT` or `https://HOST:PORT`; the last two with TLS where `tlsCa` is given. */
  readonly endpoint: string
  /** Paths of PEM files. */
  readonly tlsCa?: string | undefined
  readonly tlsCert?: string | undefined
  readonly tlsKey?: string | undefined
}

export interface Endpoint {
  readonly origin: string
  readonly connect: NonNullable<Pool.Options['connect']>
  /** It is a socket of this machine, so the engine has its clock. */
  readonly isLocal: boolean
}

const CONNECT_TIMEOUT_MS = 10_000

/** Where and how to reach an engine, as `DOCKER_HOST` spells it. Throws `invalid`, naming the problem. */
export function engineEndpoint(settings: EndpointSettings): Endpoint {
  const url = parse(settings.endpoint)
  if (url.protocol === 'unix:')
    return {
      origin: 'http://localhost',
      connect: { socketPath: decodeURIComponent(url.pathname), timeout: CONNECT_TIMEOUT_MS },
      isLocal: true,
    }
  const { tlsCa, tlsCert, tlsKey } = settings
  const isSecure = url.protocol === 'https:' || tlsCa !== undefined
  if (!isSecure && !isLoopback(url.hostname))
    throw new Failure(
      'invalid',
      `The engine at ${url.host} needs tls_ca, tls_cert and tls_key: without them everyone who reaches it controls its machine.`,
    )
  return {
    origin: `${isSecure ? 'https' : 'http'}://${url.host}`,
    isLocal: false,
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      ...(tlsCa === undefined ? {} : { ca: pemFile('tls_ca', tlsCa) }),
      ...(tlsCert === undefined ? {} : { cert: pemFile('tls_cert', tlsCert) }),
      ...(tlsKey === undefined ? {} : { key: pemFile('tls_key', tlsKey) }),
    },
  }
}

function parse(endpoint: string): URL {
  const url = URL.parse(endpoint)
  if (url !== null && ['unix:', 'tcp:', 'https:'].includes(url.protocol)) return url
  throw new Failure(
    'invalid',
    `endpoint: ${endpoint} is no address of an engine, such as unix:///var/run/docker.sock or tcp://host:2376`,
  )
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}
