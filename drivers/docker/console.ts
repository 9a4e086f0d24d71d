import type { Duplex } from 'node:stream'
import { Failure } from '#common/errors.ts'
import type { Console, ConsoleLog } from '../consoles.ts'
import { getContainer } from './containers/container.ts'
import type { DockerHost } from './host.ts'

/** The terminal of a container's first process. */
export function dockerConsole(host: DockerHost): Console {
  return {
    async open(id, kind, signal): Promise<Duplex> {
      const { Id, State } = await getContainer(host, id, signal)
      if (kind !== 'serial')
        throw new Failure('unsupported', `Instance ${id} is a container and has no screen.`)
      if (State.Status !== 'running' && State.Status !== 'paused')
        throw new Failure('conflict', `Instance ${id} is not running.`)
      const query = { stream: '1', stdin: '1', stdout: '1', stderr: '1' }
      return host.engine.attach(`/containers/${Id}/attach`, { query, signal })
    },
  }
}

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
