import { Type } from 'typebox'
import { Nullable } from '#openapi/wire/scalars.ts'
import type { ConsoleLog } from '../consoles.ts'
import { getServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'

const Output = Type.Object({ output: Nullable(Type.String()) })

export function nestedConsoleLog(host: NestedHost): ConsoleLog {
  return {
    async read(id, maxBytes, signal) {
      const server = await getServer(host, id, signal)
      const { body } = await host.cloud.ask(
        Output,
        'compute',
        'POST',
        `/servers/${server.id}/action`,
        { body: { 'os-getConsoleOutput': {} }, signal },
      )
      return Buffer.from(body.output ?? '').subarray(-maxBytes)
    },
  }
}
