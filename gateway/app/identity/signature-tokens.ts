import { Failure } from '#common/errors.ts'
import { findCredential } from '../../db/identity/credentials.ts'
import { type CredentialDeps, EC2, idOfAccessKey, openedCredential } from './credentials.ts'
import { type SignedRequest, verifyRequest, verifyText } from './ec2-signature.ts'
import { type IssuedToken, issueToken, loginRefused } from './issue-token.ts'
import { EC2_METHOD } from './token-view.ts'

/** A request that a service got from a user of its own, signed with an access key's secret. */
export interface Signed {
  readonly access: string
  readonly signature: string
}

interface Keys {
  readonly userId: string
  readonly projectId: string
  readonly secret: string
}

/** As Keystone's `[credential] auth_ttl`: 15 minutes. */
const LIFETIME_MS = 900_000

/**
 * A token of the user whose access key has signed the request, in the key's project. Throws `unauthenticated` for an unknown
 * key, a signature of something else, one that is too old, and a user who may not have the project.
 */
export async function tokenForRequest(
  deps: CredentialDeps,
  { access, signature, ...request }: Signed & SignedRequest,
): Promise<IssuedToken> {
  const keys = await keysOf(deps, access)
  const time = verifyRequest(request, signature, keys.secret)
  if (time === undefined) throw refused('Invalid EC2 signature.')
  const endsAt = 'endsAt' in time ? time.endsAt : time.madeAt + LIFETIME_MS
  if (deps.identity.clock.now() > endsAt) throw refused('Credential is expired')
  return issued(deps, keys)
}

/** The same for a text that a client of S3 signed, `text` in base64. How old it may be is the service's to decide. */
export async function tokenForText(
  deps: CredentialDeps,
  { access, signature, text }: Signed & { readonly text: string },
): Promise<IssuedToken> {
  const keys = await keysOf(deps, access)
  const plain = Buffer.from(text, 'base64url').toString()
  if (!verifyText(plain, signature, keys.secret)) throw refused('Credential signature mismatch')
  return issued(deps, keys)
}

/** Throws `unauthenticated` also for keys that were lent with less than all rights: nothing here lends so. */
async function keysOf(deps: CredentialDeps, access: string): Promise<Keys> {
  const row = await findCredential(deps.identity.db, idOfAccessKey(access))
  if (row === undefined || row.type.toLowerCase() !== EC2 || row.projectId === null)
    throw refused('EC2 access key not found.')
  const blob = JSON.parse(openedCredential(deps, row).blob) as Readonly<Record<string, unknown>>
  const { secret } = blob
  const isDelegated = ['trust_id', 'app_cred_id', 'access_token_id'].some(
    (name) => blob[name] != null,
  )
  if (isDelegated || typeof secret !== 'string' || secret === '')
    throw refused('EC2 access key not found.')
  return { userId: row.userId, projectId: row.projectId, secret }
}

async function issued({ identity }: CredentialDeps, keys: Keys): Promise<IssuedToken> {
  const proof = {
    userId: keys.userId,
    defaultProjectId: null,
    methods: [EC2_METHOD],
    applicationCredentialId: null,
    endsAt: null,
    parent: undefined,
  }
  const token = await issueToken(identity, proof, { type: 'project', id: keys.projectId })
  if (token === undefined) throw loginRefused('the user of the access key may not have its project')
  return token
}

function refused(reason: string): Failure {
  return new Failure('unauthenticated', reason)
}
