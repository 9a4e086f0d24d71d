import { Duplex } from 'node:stream'
import { Failure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import type { Console } from '../consoles.ts'
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
