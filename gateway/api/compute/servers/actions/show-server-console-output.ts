import type { operations } from '#openapi/compute.gen.ts'
import { consoleLog } from '../../../../app/servers/console-log.ts'
import type { Handler } from '../../../../http/operation.ts'

export const showServerConsoleOutput: Handler<operations['showServerConsoleOutput']> = async (
  call,
) => {
  const { length } = call.body['os-getConsoleOutput']
  // Nova's word for "all of them" is -1; some clients say null.
  const lines = length === undefined || length === null || length === -1 ? undefined : length
  const output = await consoleLog(call.app.compute, call.context, call.params.server_id, lines)
  return { body: { output } }
}
