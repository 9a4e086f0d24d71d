import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { waitFor } from '#common/wait-for.ts'
import type { RunOptions, RunResult } from '#drivers/run.ts'

/** Whatever has namespaces of its own. */
export interface Inside {
  run(command: string, args: readonly string[], options: RunOptions): Promise<RunResult>
}

const STEP_MS = 30_000
/** Runs in the daemon's network namespace, whose loopback is not the test's: forwards bytes between the socket and the port. */
const INNER_RELAY = `const { connect, createServer } = require('node:net')
const [socket, port] = process.argv.slice(1)
createServer((here) => {
  const there = connect(Number(port), '127.0.0.1')
  here.on('error', () => there.destroy()).pipe(there)
  there.on('error', () => here.destroy()).pipe(here)
}).listen(socket)`
const IN_BACKGROUND = 'setsid "$@" >/dev/null 2>&1 </dev/null &'

/** A port of ours that leads to a port of the loopback inside. `socketPath` is a file that both sides see. */
export async function relayInto(
  inside: Inside,
  port: number,
  socketPath: string,
): Promise<AsyncDisposable & { readonly port: number }> {
  const inner = [process.execPath, '-e', INNER_RELAY, socketPath, String(port)]
  await inside.run('sh', ['-c', IN_BACKGROUND, 'sh', ...inner], { timeoutMs: STEP_MS })
  await waitFor('the relay', () => existsSync(socketPath), STEP_MS)
  const open = new Set<Socket>()
  const server: Server = createServer((here) => {
    const there = connect(socketPath)
    open.add(here)
    here.on('error', () => there.destroy()).pipe(there)
    here.on('close', () => open.delete(here) && there.destroy())
    there.on('error', () => here.destroy()).pipe(here)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of open) socket.destroy()
      await closed
    },
  }
}
