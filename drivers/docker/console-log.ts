import type { ConsoleLog } from '../consoles.ts'
import { getContainer } from './containers/container.ts'
import type { DockerHost } from './host.ts'

/** The engine keeps what a guest's terminal showed, and gives it as it was: containers here always have a terminal. */
export function dockerConsoleLog(host: DockerHost): ConsoleLog {
  return {
    async read(id, maxBytes, signal) {
      const { Id } = await getContainer(host, id, signal)
      const query = { stdout: '1', stderr: '1' }
      const log = await host.engine.open('GET', `/containers/${Id}/logs`, { query, signal })
      let newest: Uint8Array = new Uint8Array()
      for await (const chunk of log)
        newest = Buffer.concat([newest, chunk as Buffer]).subarray(-maxBytes)
      return newest
    },
  }
}
