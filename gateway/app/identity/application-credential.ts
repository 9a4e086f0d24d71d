import type { ApplicationCredentialRef } from './token-view.ts'

/** A secret that stands for one user in one project, with some of the user's roles there. */
export interface ApplicationCredential extends Omit<ApplicationCredentialRef, 'accessRules'> {
  readonly userId: string
  readonly projectId: string
  readonly description: string | null
  readonly secretHash: string
  readonly roleIds: readonly string[]
  /** The only requests it may make; null: any. */
  readonly accessRuleIds: readonly string[] | null
  readonly expiresAt: Date | null
  readonly createdAt: Date
}
