import { cellNames } from '../cells/cell-names.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { decisionText } from './decision-text.ts'
import { findServer } from './find-server.ts'

/** Shows where a server is and why: every decision, with what was refused and how the rest scored. */
export async function explainServer(
  operator: Operator,
  wanted: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { federation, compute } = session
    const id = await findServer(session, wanted)
    const [{ server }, trace, { cells }] = await Promise.all([
      compute.ask('get', '/v2.1/servers/{server_id}', { path: { server_id: id } }),
      federation.ask('get', '/v1/servers/{server}/trace', { path: { server: id } }),
      federation.ask('get', '/v1/cells'),
    ])
    const cell = trace.cell_id === null ? undefined : cellNames(cells).get(trace.cell_id)
    const places = [
      ...(cell === undefined ? [] : [`in cell ${cell}`]),
      ...(trace.host === null ? [] : [`on host ${trace.host}`]),
    ]
    const where = places.length === 0 ? 'in no cell' : places.join(' ')
    const fault = server.fault === undefined ? '' : `${server.fault.message}\n`
    return {
      data: trace,
      names: [trace.host ?? cell ?? '-'],
      text: (isWide, style) =>
        [
          `Server ${server.name} is ${server.status} ${where}.\n${style('bad', fault)}`,
          ...trace.decisions.map((decision) => decisionText(decision, isWide, style)),
        ].join('\n'),
    }
  })
}
