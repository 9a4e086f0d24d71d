import type { InstanceId } from '#common/ids.ts'

/** Where guests are servers of another cloud. */
export interface Below {
  /**
   * The ids of the instance's server in the cloud below, and in those below that, the nearest first, as far as they
   * answer. Throws `not-found` when there is none below.
   */
  chain(id: InstanceId, signal: AbortSignal): Promise<readonly string[]>
}
