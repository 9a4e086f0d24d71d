import type { Duplex } from 'node:stream'
import { Failure } from '#common/errors.ts'
import type { Console, ConsoleLog } from '../consoles.ts'
import type { BaremetalHost } from './host.ts'

/** A machine's serial port, as its BMC carries it. */
export function baremetalConsole(host: BaremetalHost): Console {
  return {
    async open(id, kind, signal): Promise<Duplex> {
      const node = host.nodes.get(id)
      const line = host.lines.get(id)
      if (kind !== 'serial' || line === undefined)
        throw new Failure('unsupported', `Instance ${id} has no console of this kind.`)
      if (!(await node.power.isOn(signal)))
        throw new Failure('conflict', `Instance ${id} is not running.`)
      return line.attach()
    },
  }
}

/** What machines wrote on their serial ports since their servers have them. */
export function baremetalConsoleLog(host: BaremetalHost): ConsoleLog {
  return {
    async read(id, maxBytes, signal) {
      signal.throwIfAborted()
      host.nodes.get(id)
      return host.lines.log(id).newest(maxBytes)
    },
  }
}
