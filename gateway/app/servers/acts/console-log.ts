import type { Compute } from '../../compute.ts'
import type { RequestContext } from '../../request-context.ts'
import { placedServer } from '../boot/placed-server.ts'

/** As much as a console keeps. */
const BYTES_MAX = 1_048_576

/**
 * The guest's console output, Latin-1 for its bytes; its last `lines` when given. Throws `not-found`; `conflict` for
 * a server in no cell; `unavailable` while its cell is unreachable.
 */
export async function consoleLog(
  compute: Compute,
  context: RequestContext,
  id: string,
  lines: number | undefined,
): Promise<string> {
  const { server, cell } = await placedServer(compute, context, id)
  const ask = { serverId: server.id, maxBytes: BYTES_MAX }
  const { output } = await compute.askCell(cell, 'instance.console-log', ask, { work: context })
  return lines === undefined ? output : lastLines(output, lines)
}

/** A newline at the end ends the last line and begins no other. */
function lastLines(text: string, count: number): string {
  const end = text.endsWith('\n') ? '\n' : ''
  const all = text.slice(0, text.length - end.length).split('\n')
  return count === 0 ? '' : all.slice(-count).join('\n') + end
}
