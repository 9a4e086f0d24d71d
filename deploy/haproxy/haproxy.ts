import { mkdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { waitFor } from '#common/wait-for.ts'
import { PUT_ACTS } from '#openapi/put-acts.ts'
import { programsDirectory } from '../paths.ts'
import { findProgram } from '../process/find-program.ts'
import { isRunning, type ProcessIdentity } from '../process/process-identity.ts'
import { type Lifetime, logTail, startProcess } from '../process/start-process.ts'
import { writeFileAtomically } from '../process/write-file-atomically.ts'

/** Where a proxy listens, and the gateways that it spreads requests over. */
export interface ProxyOptions {
  readonly host: string
  readonly port: number
  /** `HOST:PORT` of each gateway. */
  readonly gateways: readonly string[]
  /** Absent: it serves HTTP, and connects to the gateways by HTTP. */
  readonly tls?: ProxyTls
}

/** PEM files of a proxy that serves HTTPS, and connects to the gateways by it. */
export interface ProxyTls {
  /** Its certificate, `NAME.crt`. The key is beside it, in `NAME.key`. */
  readonly certificateFile: string
  /** Of the authorities whose certificates gateways may have. */
  readonly caFile: string
}

const READY_LIMIT_MS = 10_000
const IS_BOOT = '{ path_reg ^/compute/v2[^/]*/([^/]+/)?servers/?$ }'

/** Afterwards an HAProxy in front of the gateways accepts connections. */
export async function startProxy(
  directory: string,
  options: ProxyOptions,
  lifetime: Lifetime,
): Promise<ProcessIdentity> {
  const home = resolve(directory)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const file = join(home, 'haproxy.cfg')
  writeFileAtomically(file, proxyConfig(options))
  const logFile = join(home, 'haproxy.log')
  const identity = await startProcess({
    command: findProgram('haproxy'),
    args: ['-db', '-f', file],
    env: {
      PATH: process.env['PATH'],
      TZ: 'UTC',
      // The libraries of an unpacked package are beside it.
      LD_LIBRARY_PATH: join(programsDirectory, 'usr/lib/x86_64-linux-gnu'),
    },
    directory: home,
    logFile,
    lifetime,
  })
  const probe = async () => (isRunning(identity) ? await accepts(options) : 'ended')
  if ((await waitFor('HAProxy to accept connections', probe, READY_LIMIT_MS)) === 'ended')
    throw new Error(`HAProxy ended while starting: ${logTail(logFile)}`)
  return identity
}

/**
 * The configuration of an HAProxy in front of gateways. A request that a gateway did not receive, or gave back because it
 * is cut off, goes to another one; one whose answer was lost does so where repeating it does no harm. The proxy gives a
 * boot and a delete an idempotency key, which makes them such requests. A gateway that is cut off gets no new requests
 * unless all are, nor does one that does not pass its checks unless none does.
 */
export function proxyConfig({ gateways, ...listener }: ProxyOptions): string {
  const { tls } = listener
  const verified = tls === undefined ? '' : ` ssl verify required ca-file ${tls.caFile}`
  return `${frontend(listener)}${backends(gateways, verified)}`
}

/** All before the backends. */
function frontend({ host, port, tls }: Omit<ProxyOptions, 'gateways'>): string {
  // Consoles and events are WebSockets of HTTP/1.1.
  const certificate = tls === undefined ? '' : ` ssl crt ${tls.certificateFile} alpn http/1.1`
  return `global
  log stdout format iso local0
  # The key of NAME.crt is in NAME.key.
  ssl-load-extra-del-ext
  maxconn 8000
  # When it is stopped by SIGUSR1 it lets its requests end, for so long.
  hard-stop-after 20s
  # The bodies of requests that may be repeated must fit in.
  tune.bufsize 65536

defaults
  mode http
  log global
  # Only requests that failed, were repeated or went to another gateway; without queries, in which consoles have tickets.
  log-format "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %tsc %ac/%fc/%bc/%sc/%rc %sq/%bq %HM %HP"
  option dontlog-normal
  # While one gateway serves, HAProxy waits as long before it repeats a request whose gateway refused it.
  timeout connect ${tls === undefined ? '250ms' : '1s'}
  timeout http-request 10s
  timeout queue 5s
  # Consoles, events and uploads stay open.
  timeout client 1h
  timeout server 1h
  timeout tunnel 1h
  option redispatch 1
  retries 3
  option http-server-close
  # A client may just be sending a request on a connection that a reload or a stop would close.
  option idle-close-on-response
  option allbackups

frontend weir
  bind ${host}:${port}${certificate}
  option forwardfor
  # By it a gateway knows that it may give requests back. Where none serves, the client gets the answer of the last one.
  http-request set-header Weir-Proxy-Repeats 425
  http-response set-status 503 if { status 425 }
  use_backend gateways-unchecked if { nbsrv(gateways) eq 0 }
  use_backend gateways-once if METH_POST !${IS_BOOT}
  use_backend gateways-once if { method PATCH }
  use_backend gateways-once if { method PUT } { path_reg ${PUT_ACTS.source.replaceAll('\\/', '/')} }
  default_backend gateways

`
}

/** Those of the requests that may be repeated, of the others, and of all while no gateway is known to be well. */
function backends(gateways: readonly string[], verified: string): string {
  const places = gateways.map((gateway, place) => ({
    name: `gateway-${place + 1}`,
    to: `${gateway}${verified}`,
  }))
  const checked = places.flatMap(({ name, to }) => [
    `  server ${name} ${to}`,
    `  server ${name}-cut-off ${to} backup`,
  ])
  const unchecked = places.map(({ name, to }) => `  server ${name} ${to}`)
  const tracking = places.flatMap(({ name, to }) => [
    `  server ${name} ${to} track gateways/${name}`,
    `  server ${name}-cut-off ${to} track gateways/${name}-cut-off backup`,
  ])
  return `backend gateways
  balance roundrobin
  retry-on conn-failure empty-response response-timeout 425
  http-request set-header Idempotency-Key %[uuid()] if METH_POST ${IS_BOOT} !{ req.hdr(Idempotency-Key) -m found }
  http-request set-header Idempotency-Key %[uuid()] if METH_DELETE !{ req.hdr(Idempotency-Key) -m found }
  # A gateway that is cut off from its database or the bus answers 404, and keeps the requests that it has. Where all of
  # them do, as while the databases choose a writer, requests wait at any that lives: the backup servers.
  option httpchk
  http-check disable-on-404
  http-check send meth GET uri-lf '%[srv_name,regsub(^.*-cut-off$,/healthz),regsub(^gateway-.*,/rotation)]' ver HTTP/1.1 hdr Host weir
  timeout check 2s
  # Three late answers, not fewer: the requests of a gateway that is down are cut off, and one under load may be slow. A
  # refused request goes to another gateway, and does not mark its own as down: HAProxy would end those that are refused
  # at the same moment instead of repeating them.
  default-server check inter 500ms fastinter 100ms downinter 300ms fall 3 rise 1 on-marked-down shutdown-sessions
${checked.join('\n')}

# Requests that may have been carried out if their answer is lost.
backend gateways-once
  balance roundrobin
  retry-on conn-failure 425
  # As the servers that are tracked.
  option httpchk
  http-check disable-on-404
  default-server on-marked-down shutdown-sessions
${tracking.join('\n')}

# Where no gateway passes its checks: on a machine that is overloaded they may all answer too late, and still serve.
backend gateways-unchecked
  balance roundrobin
  retry-on conn-failure 425
  timeout server 30s
${unchecked.join('\n')}
`
}

function accepts({ host, port }: ProxyOptions): Promise<'ready' | undefined> {
  return new Promise((settle) => {
    const socket = connect(port, host)
    socket.once('connect', () => {
      socket.destroy()
      settle('ready')
    })
    socket.once('error', () => settle(undefined))
  })
}
