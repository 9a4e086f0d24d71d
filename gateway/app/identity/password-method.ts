import { Failure } from '#common/errors.ts'
import { findLogin, type UserReference } from '../../db/identity/users.ts'
import type { QueueClient } from '../fair-queue.ts'
import type { Identity } from './identity.ts'
import { loginRefused, type Proof } from './issue-token.ts'
import type { LoginRequest } from './login-request.ts'
import type { User } from './model.ts'
import { DUMMY_HASH, verifyPassword } from './password-hash.ts'
import { userReference } from './user-reference.ts'

/** Proves a user by password; throws `unauthenticated`, after the same work whether or not the user exists. */
export async function provePassword(
  identity: Identity,
  request: LoginRequest['identity']['password'],
  peer: string,
): Promise<Proof> {
  if (request === undefined)
    throw new Failure('invalid', "Method 'password' needs 'identity.password'.")
  const who = userReference(request.user, 'identity.password.user')
  const { user } = await verifyLogin(identity, who, request.user.password, peer)
  return {
    userId: user.id,
    defaultProjectId: user.defaultProjectId,
    methods: ['password'],
    applicationCredentialId: null,
    endsAt: null,
    parent: undefined,
  }
}

/** The enabled user who has this password. Throws `unauthenticated`, after the same work for every reason. */
export async function verifyLogin(
  identity: Identity,
  who: UserReference,
  password: string,
  peer: string,
): Promise<{ readonly user: User; readonly passwordHash: string }> {
  const login = await findLogin(identity.db, who)
  const account = login?.user.id ?? accountText(who)
  const isCounted = login?.user.options.ignore_lockout_failure_attempts !== true
  const asker = { peer, account }
  if (isCounted) refuseExhausted(identity, asker)

  const passwordHash = login?.passwordHash ?? DUMMY_HASH
  const isRight = await verifyPassword(password, passwordHash, asker)
  if (login === undefined || !isRight || !login.user.isActive) {
    identity.throttle.failed(asker)
    throw loginRefused(`password login of ${account}`)
  }
  identity.throttle.succeeded(asker)
  return { user: login.user, passwordHash }
}

/** Throws `unauthenticated` after too many failures of late from this peer; for what does not exist, too, so it tells nothing. */
export function refuseExhausted(
  { throttle }: Pick<Identity, 'throttle'>,
  asker: QueueClient,
): void {
  if (!throttle.isExhausted(asker)) return
  throw new Failure(
    'unauthenticated',
    'There were too many failed logins for this account. Please wait a while and try again.',
  )
}

function accountText(who: UserReference): string {
  if ('id' in who) return who.id
  return `${who.domain.id ?? ''}\0${who.domain.name ?? ''}\0${who.name}`
}
