import type { ConsoleLog } from '../consoles.ts'
import type { BaremetalHost } from './host.ts'

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
