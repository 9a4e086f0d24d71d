import type { ConsoleLog } from '../driver.ts'
import type { FakeHost } from './host.ts'

export function fakeConsoleLog(host: FakeHost): ConsoleLog {
  return {
    read: (id, maxBytes, signal) =>
      host.faulty('consoleLog', host.target(id), signal, () => {
        const lines = host.guests.get(id).console.map((line) => `fake-guest: ${line}\n`)
        return newest(Buffer.from(lines.join(''), 'utf8'), maxBytes)
      }),
  }
}

function newest(bytes: Uint8Array, maxBytes: number): Uint8Array {
  return bytes.subarray(Math.max(0, bytes.length - maxBytes))
}
