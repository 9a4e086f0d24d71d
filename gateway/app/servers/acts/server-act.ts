import type { Secrets } from '#common/secrets.ts'
import type { PlainAct } from '#openapi/wire/act.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import type { BootImage } from '../../images/image-for-boot.ts'
import type { ActPlan, PlannedAction } from '../../sagas/act-plan.ts'

/** A change of host that somebody asks for. `host`: its name; null: the scheduler's choice. */
export type MoveAct = {
  readonly name: 'migrate' | 'live-migrate' | 'evacuate'
  readonly migrationId: string
  readonly host: string | null
  /** True when the client waits for what the scheduler says. */
  readonly isAwaited: boolean
  /** True: an evacuated guest is not started. */
  readonly staysOff?: boolean
  /** The present flavor of the server. */
  readonly flavor: FlavorSnapshot
  /** For a guest that is made again; null: none. */
  readonly sealedPassword: string | null
}

/** Changes the course of a live migration that is under way. */
export type EndMigrationAct = {
  readonly name: 'abort-migration' | 'force-complete'
  readonly migrationId: string
}

/** Acts without a secret, or with a sealed one in their plan. */
type OpenAct =
  | { readonly name: PlainAct }
  /** Of a server that starts from a volume: there is no disk to be saved. */
  | { readonly name: 'shelve' }
  | { readonly name: 'reset-state'; readonly state: 'active' | 'error' }
  | MoveAct
  | EndMigrationAct
  | { readonly name: PlannedAction; readonly plan: ActPlan }

/** The acts on a server that is in a cell. */
export type ServerAct =
  | OpenAct
  /** `image` null: the server's own. */
  | { readonly name: 'rescue'; readonly image: BootImage | null; readonly password: string }
  | { readonly name: 'change-password'; readonly password: string }

/** The same as it may be kept: with the password sealed. */
export type StoredAct =
  | OpenAct
  | { readonly name: 'rescue'; readonly image: BootImage | null; readonly sealed: string }
  | { readonly name: 'change-password'; readonly sealed: string }

/** The act with its password sealed for this server. */
export function storedAct(secrets: Secrets, serverId: string, act: ServerAct): StoredAct {
  if (!('password' in act)) return act
  const sealed = secrets.seal(act.password, passwordPurpose(serverId))
  return act.name === 'rescue'
    ? { name: act.name, image: act.image, sealed }
    : { name: act.name, sealed }
}

/** The act as it is kept once it is done. */
export function withoutSecrets(act: StoredAct): StoredAct {
  if ('sealed' in act) return { ...act, sealed: '' }
  if ('sealedPassword' in act) return { ...act, sealedPassword: null }
  if (!('plan' in act) || act.plan.kind !== 'rebuild') return act
  return {
    ...act,
    plan: { ...act.plan, sealedUserData: null, sealedFiles: null, sealedPassword: null },
  }
}

/** Binds a sealed password to the server it is for. */
export function passwordPurpose(serverId: string): string {
  return `new password of ${serverId}`
}
