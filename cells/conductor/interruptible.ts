import type { Task } from '#common/states/instance-states.ts'
import { SERVER_ACTIONS } from '#common/states/server-actions.ts'

/** Tasks that end harmlessly when their instance is taken from them: the guest is where it was, on the disk it had. */
export const INTERRUPTIBLE: ReadonlySet<Task | null> = new Set(
  (
    [
      'start',
      'stop',
      'reboot-soft',
      'reboot-hard',
      'pause',
      'unpause',
      'suspend',
      'resume',
      'rescue',
      'unrescue',
      'change-password',
    ] as const
  ).map((name) => SERVER_ACTIONS[name].during),
)
