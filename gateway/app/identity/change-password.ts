import { Failure } from '#common/errors.ts'
import { deleteTokens } from '../../db/identity/tokens.ts'
import { replacePasswordHash } from '../../db/identity/users.ts'
import { changeAccess } from './change-access.ts'
import type { Identity } from './identity.ts'
import { loginRefused } from './issue-token.ts'
import { hashPassword } from './password-hash.ts'
import { verifyLogin } from './password-method.ts'

/**
 * Afterwards the password is the new one and every token of the user is gone. A caller who knows the old password
 * needs no token; wrong ones count as failed logins.
 */
export async function changePassword(
  identity: Identity,
  userId: string,
  { original, password }: { readonly original: string; readonly password: string },
  peer: string,
): Promise<void> {
  const { user, passwordHash } = await verifyLogin(identity, { id: userId }, original, peer)
  if (user.options.lock_password === true)
    throw new Failure(
      'forbidden',
      'The password of this user can be changed by administrators only.',
    )
  const next = await hashPassword(password)
  await changeAccess(identity, async (tx) => {
    if (!(await replacePasswordHash(tx, userId, passwordHash, next)))
      throw loginRefused(`password change of ${userId}, which was changed meanwhile`)
    await deleteTokens(tx, { userIds: [userId] })
  })
}
