import { once } from 'node:events'
import { createServer } from 'node:net'

/** A loopback TCP port nobody listens on now: `wanted` if it is free, else one the kernel picks. */
export async function freePort(wanted = 0): Promise<number> {
  return (await tryPort(wanted)) ?? (await tryPort(0)) ?? noPort()
}

async function tryPort(port: number): Promise<number | undefined> {
  const server = createServer()
  server.listen({ port, host: '127.0.0.1' })
  try {
    await once(server, 'listening')
  } catch {
    return undefined
  }
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : undefined
}

function noPort(): never {
  throw new Error('The kernel has no free loopback port')
}
