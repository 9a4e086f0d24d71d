import { and, eq, inArray, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Database, Executor, Tx } from '#common/db/database.ts'
import { builder, statement } from '#common/db/statement.ts'
import type { ScopeType, TokenRecord } from '../../app/identity/token-view.ts'
import { projects, tokens, trusts, users } from '../schema/identity.ts'
import { recordRevocation } from './revocations.ts'

const FIND = statement(
  builder
    .select()
    .from(tokens)
    .where(eq(tokens.id, sql.placeholder('id'))),
)
const INSERT = statement(
  builder.insert(tokens).values({
    id: sql.placeholder('id'),
    auditId: sql.placeholder('auditId'),
    auditChainId: sql.placeholder('auditChainId'),
    userId: sql.placeholder('userId'),
    scopeType: sql.placeholder('scopeType'),
    scopeId: sql.placeholder('scopeId'),
    applicationCredentialId: sql.placeholder('applicationCredentialId'),
    trustId: sql.placeholder('trustId'),
    methods: sql.placeholder('methods'),
    issuedAt: sql.placeholder('issuedAt'),
    expiresAt: sql.placeholder('expiresAt'),
  }),
)
const DELETE = statement(builder.delete(tokens).where(eq(tokens.id, sql.placeholder('id'))))

interface Row {
  readonly id: string
  readonly audit_id: string
  readonly audit_chain_id: string
  readonly user_id: string
  readonly scope_type: ScopeType
  readonly scope_id: string
  readonly application_credential_id: string | null
  readonly trust_id: string | null
  readonly methods: unknown
  readonly issued_at: Date
  readonly expires_at: Date
}

/** The token stored under this hash, expired or not; a revoked one is not stored. */
export async function findToken(db: Executor, id: string): Promise<TokenRecord | undefined> {
  const [row] = await db.rows<Row>(FIND, { id })
  if (row === undefined) return undefined
  return {
    id: row.id,
    auditId: row.audit_id,
    auditChainId: row.audit_chain_id,
    userId: row.user_id,
    scope: { type: row.scope_type, id: row.scope_id },
    applicationCredentialId: row.application_credential_id,
    trustId: row.trust_id,
    methods: row.methods as readonly string[],
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
  }
}

export async function insertToken(db: Executor, record: TokenRecord): Promise<void> {
  const { scope, ...rest } = record
  await db.run(INSERT, { ...rest, scopeType: scope.type, scopeId: scope.id })
}

/** Afterwards the token is gone, and every gateway will learn so. Revoking it again changes nothing. */
export async function revokeToken(db: Database, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const { affectedRows } = await tx.run(DELETE, { id })
    if (affectedRows > 0) await recordRevocation(tx, id)
  })
}

/** Tokens of users and those they lent by trusts, of an application credential or trusts, or for scopes. */
export type TokenMatch =
  | { readonly userIds: readonly string[] }
  | { readonly credentialId: string }
  | { readonly trustIds: readonly string[] }
  | { readonly scope: { readonly type: ScopeType; readonly ids: readonly string[] } }

/** Afterwards those tokens are gone; gateways learn so by the revocation that the transaction must record. */
export async function deleteTokens(tx: Tx, match: TokenMatch): Promise<void> {
  await tx.orm.delete(tokens).where(isMeant(match))
}

function isMeant(match: TokenMatch): SQL | undefined {
  if ('userIds' in match) {
    const ids = [...match.userIds]
    const lent = builder
      .select({ id: trusts.id })
      .from(trusts)
      .where(inArray(trusts.trustorUserId, ids))
    return or(inArray(tokens.userId, ids), inArray(tokens.trustId, lent))
  }
  if ('trustIds' in match) return inArray(tokens.trustId, [...match.trustIds])
  if ('credentialId' in match) return eq(tokens.applicationCredentialId, match.credentialId)
  const { type, ids } = match.scope
  return and(eq(tokens.scopeType, type), inArray(tokens.scopeId, [...ids]))
}

/** Removes up to `limit` tokens that expired before the time; gives how many. */
export async function purgeTokens(db: Executor, before: Date, limit: number): Promise<number> {
  const [result] = await db.orm.delete(tokens).where(lt(tokens.expiresAt, before)).limit(limit)
  return result.affectedRows
}

/**
 * Afterwards these have no token: the users of the domain, users they lent roles to, and users with roles in the
 * domain or its projects.
 */
export async function deleteDomainTokens(tx: Tx, domainId: string): Promise<void> {
  const idsIn = (table: typeof users | typeof projects) =>
    tx.orm.select({ id: table.id }).from(table).where(eq(table.domainId, domainId))
  const delegatedByDomain = tx.orm
    .select({ id: trusts.id })
    .from(trusts)
    .where(inArray(trusts.trustorUserId, idsIn(users)))
  await tx.orm
    .delete(tokens)
    .where(
      or(
        inArray(tokens.userId, idsIn(users)),
        inArray(tokens.trustId, delegatedByDomain),
        and(eq(tokens.scopeType, 'project'), inArray(tokens.scopeId, idsIn(projects))),
        and(eq(tokens.scopeType, 'domain'), eq(tokens.scopeId, domainId)),
      ),
    )
}

/** Afterwards no token is valid. Only while no gateway runs, because gateways are not notified. */
export async function deleteAllTokens(db: Executor): Promise<void> {
  await db.orm.delete(tokens)
}
