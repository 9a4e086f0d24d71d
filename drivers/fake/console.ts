import { Duplex } from 'node:stream'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Console, ConsoleLog } from '../consoles.ts'
import type { FakeHost } from './host.ts'

/** A guest that echoes its input, until it goes off. */
export function fakeConsole(host: FakeHost): Console {
  return {
    open: (id, _kind, signal) =>
      host.faulty('console', host.target(id), signal, () => {
        if (host.guests.get(id).powerState !== 'running')
          throw new Failure('conflict', `Instance ${id} is not running.`)
        return echo(host, id)
      }),
  }
}

function echo(host: FakeHost, id: InstanceId): Duplex {
  let goOn: (() => void) | undefined
  const stop = host.guests.listen((report) => {
    if (report.id === id && report.powerState !== 'running') console.push(null)
  })
  const console = new Duplex({
    // Input is accepted only as fast as its echo is read, so a client that does not read cannot send for ever.
    write(chunk: Buffer, _encoding, taken) {
      if (console.push(chunk)) taken()
      else goOn = taken
    },
    read() {
      goOn?.()
      goOn = undefined
    },
    destroy(error, done) {
      stop()
      done(error)
    },
  })
  return console
}

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
