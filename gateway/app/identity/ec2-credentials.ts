import { randomBytes } from 'node:crypto'
import { findUser } from '../../db/identity/users.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import {
  type Credential,
  type CredentialDeps,
  createCredential,
  credentialsSeenBy,
  EC2,
  idOfAccessKey,
  oneCredential,
  removeCredential,
} from './credentials.ts'
import type { Listed } from './listed.ts'
import { noSuch } from './model.ts'

/** A pair of keys, as services that speak Amazon's protocols know users by. */
export interface Ec2Credential {
  readonly userId: string
  readonly projectId: string | null
  readonly access: string
  readonly secret: string
}

const KEY_BYTES = 16

/** A user's access keys. Throws `forbidden` for another user's, `not-found` for an unknown user. */
export async function ec2CredentialsOf(
  deps: CredentialDeps,
  caller: Caller,
  userId: string,
): Promise<Listed<Ec2Credential>> {
  if (userId !== caller.userId) enforce(caller, 'identity:ec2_list_credentials:other')
  if ((await findUser(deps.identity.db, userId)) === undefined) throw noSuch('user', userId)
  const found = await credentialsSeenBy(deps, caller, { userId, type: EC2 })
  return { ...found, items: found.items.map(ec2Of) }
}

/** Afterwards the user has one more, whose keys are made up. Throws `not-found` for the user or the project. */
export async function createEc2Credential(
  deps: CredentialDeps,
  caller: Caller,
  userId: string,
  projectId: string,
): Promise<Ec2Credential> {
  const [access, secret] = [newKey(), newKey()]
  const blob = JSON.stringify({ access, secret, trust_id: null })
  const asked = { userId, projectId, type: EC2, blob }
  return ec2Of(await createCredential(deps, caller, asked, 'identity:ec2_create_credential:other'))
}

/** Throws `forbidden` for another user's, then `not-found`. */
export async function oneEc2Credential(
  deps: CredentialDeps,
  caller: Caller,
  userId: string,
  access: string,
): Promise<Ec2Credential> {
  const rule = 'identity:ec2_get_credential:other'
  const found = await oneCredential(deps, caller, idOfAccessKey(access), rule)
  if (found.userId !== userId) throw noSuch('credential', access)
  return ec2Of(found)
}

/** Afterwards there is none with this access key. Throws as `oneEc2Credential`. */
export async function removeEc2Credential(
  deps: CredentialDeps,
  caller: Caller,
  userId: string,
  access: string,
): Promise<void> {
  const rule = 'identity:ec2_delete_credential:other'
  const id = idOfAccessKey(access)
  const { userId: owner } = await oneCredential(deps, caller, id, rule)
  if (owner !== userId) throw noSuch('credential', access)
  await removeCredential(deps, caller, id, rule)
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString('hex')
}

function ec2Of({ userId, projectId, blob }: Credential): Ec2Credential {
  const { access = '', secret = '' } = JSON.parse(blob) as Partial<Ec2Credential>
  return { userId, projectId, access, secret }
}
