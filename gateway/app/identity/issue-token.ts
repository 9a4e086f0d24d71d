import { randomBytes } from 'node:crypto'
import type { Database } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { insertToken } from '../../db/identity/tokens.ts'
import { useTrust } from '../../db/identity/trusts.ts'
import { findUser } from '../../db/identity/users.ts'
import { TooManyRequests } from '../request-limiter.ts'
import { describeToken } from './describe-token.ts'
import { type Identity, tokenId } from './identity.ts'
import type { UserOptions } from './model.ts'
import type { Scope, TokenRecord, TokenView } from './token-view.ts'

const TOKEN_BYTES = 32
/** As Keystone's: 22 characters of base64. */
const AUDIT_BYTES = 16

/** The result of a login: the user, the methods, and the permitted scopes of a token. */
export interface Proof {
  readonly userId: string
  /** The scope of a request that names none. */
  readonly defaultProjectId: string | null
  readonly methods: readonly string[]
  readonly applicationCredentialId: string | null
  /** Absent but for a login by a trust. */
  readonly trustId?: string
  /** When what proved it ends; null: it does not end by itself. */
  readonly endsAt: Date | null
  /** Of the token this one is made from. */
  readonly parent: { readonly expiresAt: Date; readonly auditChainId: string } | undefined
}

export interface IssuedToken {
  /** The token that the client sends from now on; only its hash is kept. */
  readonly token: string
  readonly view: TokenView
}

/**
 * Afterwards the token is valid at every gateway; undefined when the user may not have the scope. Throws `unavailable` for
 * a user who asks for tokens without end, and `forbidden` for a trust that was used up.
 */
export async function issueToken(
  identity: Identity,
  proof: Proof,
  scope: Scope,
): Promise<IssuedToken | undefined> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const record = recordOf(identity, token, proof, scope)
  const { mark } = identity.cache
  const user = await findUser(identity.db, proof.userId)
  if (user !== undefined && !fitsRules(user.options, proof.methods))
    throw loginRefused(
      `a login by ${proof.methods.join(' and ')}, which fits no rule of ${user.id}`,
    )
  const view = await describeToken(identity.db, record, record.issuedAt)
  if (view === undefined) return undefined
  const waitMs = identity.tokenLimiter?.take(proof.userId) ?? 0
  if (waitMs > 0)
    throw new TooManyRequests(
      'This user asks for too many tokens: use one until it expires.',
      waitMs,
    )
  await keepToken(identity.db, record)
  identity.cache.put(view, mark)
  return { token, view }
}

async function keepToken(db: Database, record: TokenRecord): Promise<void> {
  const { trustId } = record
  if (trustId === null) return insertToken(db, record)
  await db.transaction(async (tx) => {
    await useTrust(tx, trustId)
    await insertToken(tx, record)
  })
}

/** One answer for every reason, so that logins tell nothing about users, projects or roles. */
export function loginRefused(detail: string): Failure {
  return new Failure('unauthenticated', 'The credentials or the requested scope are not valid.', {
    detail,
  })
}

function recordOf(identity: Identity, token: string, proof: Proof, scope: Scope): TokenRecord {
  const now = identity.clock.now()
  const auditId = randomBytes(AUDIT_BYTES).toString('base64url')
  return {
    id: tokenId(token),
    auditId,
    auditChainId: proof.parent?.auditChainId ?? auditId,
    userId: proof.userId,
    scope,
    applicationCredentialId: proof.applicationCredentialId,
    trustId: proof.trustId ?? null,
    methods: proof.methods,
    issuedAt: new Date(now),
    // A token made from another lives no longer than that one: else rescoping would extend it without end.
    expiresAt: expiry(
      proof.parent?.expiresAt.getTime() ?? now + identity.tokenLifetimeS * 1_000,
      proof,
    ),
  }
}

/** No later than the end of the application credential or the trust, as in Keystone: a remembered token is not described again. */
function expiry(atLatest: number, { endsAt }: Proof): Date {
  return new Date(Math.min(atLatest, endsAt?.getTime() ?? atLatest))
}

/** The ways to log in that there are here. */
const METHODS: ReadonlySet<string> = new Set(['password', 'token', 'application_credential'])

/**
 * True where a login by these methods fits one of the user's rules, or the user has none that holds. Methods that
 * are not there are passed over, so that no rule locks a user out for good (keystone/auth/core.py: `check_auth_methods_against_rules`).
 */
export function fitsRules(
  { multi_factor_auth_enabled: isEnabled = true, multi_factor_auth_rules: rules = [] }: UserOptions,
  methods: readonly string[],
): boolean {
  if (!isEnabled || rules.length === 0) return true
  return rules.some((rule) =>
    rule.every((method) => !METHODS.has(method) || methods.includes(method)),
  )
}
