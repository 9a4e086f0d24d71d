/** The resource of a limit. Services of other clouds enforce these limits; Weir's own services have quotas instead. */
export interface LimitedResource {
  readonly serviceId: string
  /** Null: of every region. */
  readonly regionId: string | null
  readonly name: string
}

/** How much any project may have, unless a limit of its own says otherwise; -1 is unlimited. */
export interface RegisteredLimit {
  readonly id: string
  readonly resource: LimitedResource
  readonly defaultLimit: number
  readonly description: string | null
}

export interface LimitOwner {
  readonly type: 'project' | 'domain'
  readonly id: string
}

/** How much one project or domain may have of a registered resource; -1 is unlimited. */
export interface OwnLimit {
  readonly id: string
  readonly resource: LimitedResource
  readonly owner: LimitOwner
  readonly resourceLimit: number
  readonly description: string | null
}

/** What lists of limits are narrowed by. */
export interface LimitFilter {
  readonly serviceId?: string | undefined
  readonly regionId?: string | undefined
  readonly resourceName?: string | undefined
  readonly marker?: string | undefined
}
