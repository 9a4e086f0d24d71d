import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { InstanceBuild } from '#openapi/wire/instance.ts'
import { findKeypair } from '../../db/keypairs.ts'

/** The public half of one of the user's keypairs. Throws `invalid` when there is none of that name, as Nova at boot. */
export async function keypairForBoot(
  db: Executor,
  context: { readonly userId: string },
  name: string,
): Promise<NonNullable<InstanceBuild['keypair']>> {
  const keypair = await findKeypair(db, context.userId, name)
  if (keypair === undefined) throw new Failure('invalid', 'Invalid key_name provided.')
  return { name: keypair.name, type: keypair.type, publicKey: keypair.publicKey }
}
