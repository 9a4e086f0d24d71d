import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { Failure } from '#common/errors.ts'

/** Below are ports of well-known services. */
const LOWEST = 10_000
const TRIES_MAX = 100
/** Linux' own default. */
const EPHEMERAL_FROM = 32_768

const LOOPBACK = '127.0.0.1'

/**
 * A TCP port of an address on which no program listens: `wanted` if it is free, otherwise one outside the kernel's
 * range for outgoing connections. Throws `invalid` for an address that this machine does not have. A server that
 * restarts finds such a port free; a port from the kernel's range may be in use by an outgoing connection, even by that
 * of a client which tries to reach this port.
 */
export async function freePort(wanted?: number, address = LOOPBACK): Promise<number> {
  if (wanted !== undefined && (await isFree(wanted, address))) return wanted
  const end = ephemeralFrom()
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = randomInt(LOWEST, end)
    if (await isFree(port, address)) return port
  }
  throw new Error(`No port of ${address} from ${LOWEST} to ${end - 1} is free.`)
}

/** The first port that the kernel gives to outgoing connections. */
export function ephemeralFrom(): number {
  try {
    const [from] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split('\t')
    return Math.max(Number(from), LOWEST + TRIES_MAX)
  } catch {
    return EPHEMERAL_FROM
  }
}

async function isFree(port: number, address: string): Promise<boolean> {
  const server = createServer()
  server.listen({ port, host: address })
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') return false
    throw new Failure('invalid', `This machine has no address ${address}.`)
  }
  server.close()
  await once(server, 'close')
  return true
}
