/** The limits of a project's volumes, with Cinder's names and defaults; -1 is unlimited. Sizes are in GiB. */
export const DEFAULT_LIMITS = {
  volumes: 10,
  snapshots: 10,
  /** Of volumes and snapshots together. */
  gigabytes: 1_000,
  /** Of one volume. */
  per_volume_gigabytes: -1,
  backups: 10,
  backup_gigabytes: 1_000,
  groups: 10,
} as const satisfies Readonly<Record<string, number>>

export type QuotaName = keyof typeof DEFAULT_LIMITS

export const QUOTA_NAMES = Object.keys(DEFAULT_LIMITS) as readonly QuotaName[]

/** Those that are also counted for each type, in the order in which every transaction charges them. */
export const COUNTED = ['gigabytes', 'snapshots', 'volumes'] as const
export type Counted = (typeof COUNTED)[number]

/** Of a type there is no limit until one is set. */
export const UNLIMITED = -1

/** What the ledger calls a counted resource of one type. */
export function resourceOfType(counted: Counted, typeId: string): string {
  return `${counted}_${typeId}`
}

/** All of one type. */
export function resourcesOfType(typeId: string): readonly string[] {
  return COUNTED.map((counted) => resourceOfType(counted, typeId))
}
