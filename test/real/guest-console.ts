import { expect } from 'vitest'
import { newId } from '#common/ids.ts'
import type { ApiClient } from '../env/api/client.ts'
import { ConsoleSocket } from '../env/api/console-socket.ts'
import { act, SERVERS } from '../env/api/servers.ts'

const LIMIT_MS = 240_000

/** Resolves once the guest of a server has a shell. */
export async function untilBooted(client: ApiClient, server: string): Promise<void> {
  const shown = async () =>
    String((await act(client, server, { 'os-getConsoleOutput': {} })).body['output'])
  await expect.poll(shown, { timeout: LIMIT_MS, interval: 1_000 }).toContain('READY')
}

/** What the guest of a server answers to a command on its serial console. */
export async function printedBy(
  client: ApiClient,
  server: string,
  command: string,
): Promise<string> {
  const remote_console = { protocol: 'serial', type: 'serial' }
  const path = `${SERVERS}/${server}/remote-consoles`
  const asked = await client.post<{ remote_console: { url: string } }>(
    path,
    { remote_console },
    { version: '2.6' },
  )
  using serial = await ConsoleSocket.open(asked.body.remote_console.url)
  const { line, answer } = question(command)
  const shown = () => (serial.send(line), serial.shown)
  await expect.poll(shown, { timeout: LIMIT_MS, interval: 2_000 }).toMatch(answer)
  return answer.exec(serial.shown)![1]!
}

/**
 * The line that has a guest's shell run a command, and its answer. A line may be lost, so it is sent until it is answered. A
 * slow guest reads all of them and runs the command once: a write again would go to the disk that is attached next.
 */
export function question(command: string): { readonly line: string; readonly answer: RegExp } {
  // Ids begin with the time.
  const mark = newId().slice(-8)
  const once = `[ "$ran" = ${mark} ] || { said=$(${command}); ran=\${said:+${mark}}; }`
  return {
    line: `\n${once}; echo ${mark}=$said=\n`,
    answer: new RegExp(`${mark}=([\\w-]+)=`),
  }
}
