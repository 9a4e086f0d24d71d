import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'

/** Afterwards it is not carried out. Throws `not-found` once a gateway has begun to carry it out. */
export async function cancelIntent(
  operator: Operator,
  id: string,
  options: CloudOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  await federation.ask('delete', '/v1/intents/{intent}', { path: { intent: id } })
  operator.err.write(`Intent ${id} is taken back: the server stays as it is.\n`)
}
