import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

// A program of its own, started in a network namespace that has the addresses of the metadata service: it opens the
// listening sockets there, hands them to the process that started it, and ends. A socket stays in its namespace, and
// the namespace exists as long as the socket.

/** What the started program sends: first that it is in its namespace, then each socket. */
export type FromInside = 'inside' | 'listening' | { readonly failed: string }

interface Listen {
  readonly addresses: readonly string[]
  readonly port: number
}

function send(message: FromInside, handle?: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send!(message, handle, undefined, (error) =>
      error === null ? resolve() : reject(error),
    )
  })
}

async function listen(host: string, port: number): Promise<Server> {
  const server = createServer()
  server.listen({ host, port })
  await once(server, 'listening')
  return server
}

process.once('message', ({ addresses, port }: Listen) => {
  const all = addresses.map(async (address) => send('listening', await listen(address, port)))
  void Promise.all(all)
    .catch((error: unknown) => send({ failed: String(error) }))
    .finally(() => process.exit())
})
process.once('disconnect', () => process.exit())
void send('inside')
