import { Failure } from '#common/errors.ts'
import { cellNames } from '../cells/cell-names.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { findHost } from './find-host.ts'
import type { HostOptions } from './list-hosts.ts'

/** Afterwards the bus refuses every credential of the host. Throws `invalid` without `--yes`. */
export async function shutOutHost(
  operator: Operator,
  name: string,
  options: HostOptions & { readonly yes?: true },
): Promise<void> {
  const session = await openSession(operator, options)
  const { id, cell_id: cellId } = await findHost(session, name, options.cell)
  const cell =
    cellNames((await session.federation.ask('get', '/v1/cells')).cells).get(cellId) ?? cellId
  if (options.yes !== true)
    throw new Failure(
      'invalid',
      `Host ${name} of cell ${cell} would be refused by the bus for good, with the credentials it has now. If that is meant, say --yes as well.`,
    )
  await session.federation.ask('delete', '/v1/hosts/{host}/credentials', { path: { host: id } })
  operator.err.write(
    `The bus refuses host ${name}; its guests run on. It can come back: ./weir cell token create ${cell} --host ${name} --renew\n`,
  )
}
