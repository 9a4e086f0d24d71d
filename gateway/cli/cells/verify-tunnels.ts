import { Failure, isFailure } from '#common/errors.ts'
import type { components } from '#openapi/federation.gen.ts'
import { openSession } from '../cloud/session.ts'
import { endOfFindings, type Finding } from '../findings.ts'
import type { Operator } from '../operator.ts'

type TunnelTest = components['schemas']['TunnelTest']

const RESULT_WIDTH = 8

/**
 * Lets the hosts of every two cells of a transport zone test their tunnels, or of one cell with every other one, and prints each
 * result as it comes.
 * The command fails if packets were lost. Throws `not-found` for a missing cell.
 */
export async function verifyTunnels(operator: Operator, name: string | undefined): Promise<void> {
  const { federation } = await openSession(operator, {})
  const { cells } = await federation.ask('get', '/v1/cells')
  if (name !== undefined && !cells.some((cell) => cell.name === name || cell.id === name))
    throw new Failure(
      'not-found',
      `There is no cell ${name}. There are: ${cells.map((cell) => cell.name).join(', ')}.`,
    )
  const isNamed = (cell: (typeof cells)[number]) => cell.name === name || cell.id === name
  const findings: Finding[] = []
  for (const [index, one] of cells.entries())
    for (const other of cells.slice(index + 1)) {
      if (name !== undefined && !isNamed(one) && !isNamed(other)) continue
      // Whether packets pass between two zones changes nothing.
      if (one.transport_zone !== other.transport_zone) continue
      const path = { cell: one.id }
      const found = await federation
        .ask('post', '/v1/cells/{cell}/tunnel-tests', { path, body: { cell: other.id } })
        .then(({ tests }) => tests.map(finding))
        .catch((error: unknown) => [unknown(`${one.name} - ${other.name}`, error)])
      for (const { check, result, detail } of found)
        operator.out.write(`${result.padEnd(RESULT_WIDTH)} ${check}: ${detail}\n`)
      findings.push(...found)
    }
  if (findings.length === 0)
    operator.out.write(
      'No two cells of one transport zone have hosts that OVN joins, so there are no tunnels between cells to test.\n',
    )
  endOfFindings(operator, findings)
}

function finding({ from, to, result, detail }: TunnelTest): Finding {
  return { check: `${from.cell} to ${to.cell}`, result, detail }
}

function unknown(check: string, error: unknown): Finding {
  if (!isFailure(error, 'unavailable')) throw error
  return { check, result: 'unknown', detail: error.message }
}
