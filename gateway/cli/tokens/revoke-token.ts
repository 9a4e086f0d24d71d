import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'

/** Afterwards the token of this id is refused. Cells and hosts that joined with it stay. */
export async function revokeToken(
  operator: Operator,
  id: string,
  options: CloudOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  await federation.ask('delete', '/v1/tokens/{token}', { path: { token: id } })
  operator.err.write(`Token ${id} is revoked.\n`)
}
