import type { ConsoleLog } from '../consoles.ts'
import type { FakeHost } from './host.ts'

/** A guest that boots prints more than a screen; a request for the last lines of its console gets no more. */
const BOOT_LINES = Array.from({ length: 40 }, (_, i) => `fake-guest: boot step ${i + 1} of 40\n`)

export function fakeConsoleLog(host: FakeHost): ConsoleLog {
  return {
    read: (id, maxBytes, signal) =>
      host.faulty('consoleLog', host.target(id), signal, () => {
        const lines = host.guests.get(id).console.map((line) => `fake-guest: ${line}\n`)
        return newest(Buffer.from([...BOOT_LINES, ...lines].join(''), 'utf8'), maxBytes)
      }),
  }
}

function newest(bytes: Uint8Array, maxBytes: number): Uint8Array {
  return bytes.subarray(Math.max(0, bytes.length - maxBytes))
}
