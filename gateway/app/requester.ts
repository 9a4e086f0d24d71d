/** The part of a request's context that decides what its sender may see and change. */
export interface Requester {
  /** Null when the token is not for a project. */
  readonly projectId: string | null
  readonly isAdmin: boolean
}
