import { systemClock } from '#common/clock.ts'
import type { Layout } from '../deployment/layout.ts'
import { loadState } from '../deployment/state.ts'
import { examineCredentials } from './examine-credentials.ts'
import { examineDeployment } from './examine-deployment.ts'
import {
  examineHypervisor,
  examineMachine,
  examinePackages,
  examinePorts,
} from './examine-machine.ts'
import { examineMembership } from './examine-membership.ts'
import { examineNats } from './examine-nats.ts'
import type { Finding } from './finding.ts'

/** Everything that decides whether a deployment can run on this machine, and whether the one that is here does. */
export async function examine(layout: Layout): Promise<readonly Finding[]> {
  const state = loadState(layout)
  return [
    ...examineMachine(layout),
    ...examinePackages(),
    ...examineNats(),
    await examineHypervisor(),
    ...(await examinePorts(state)),
    ...(state === undefined
      ? [{ is: 'note', what: 'nothing is deployed yet: ./weir up' } as const]
      : [
          ...examineCredentials(layout, state, systemClock.now()),
          ...(await examineMembership(layout, state, systemClock.now())),
          ...(await examineDeployment(layout, state)),
        ]),
  ]
}
