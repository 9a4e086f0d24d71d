import type { Saga } from '#common/saga/saga.ts'
import type { Conductor } from '../conductor.ts'
import { activate } from './boot/activate.ts'
import { claimAlternate } from './boot/claim-alternate.ts'
import { claimFirst } from './boot/claim-first.ts'
import { giveUpStep } from './boot/give-up.ts'
import { BOOT_TRIES } from './boot/outputs.ts'
import type { BootParams } from './boot/params.ts'
import { reportPreempted } from './boot/report-preempted.ts'
import { spawn } from './boot/spawn.ts'

const ALTERNATES = Array.from({ length: BOOT_TRIES - 1 }, (_, index) => index + 2)

/**
 * Builds a server on one of the cell's hosts. On the usual path it commits twice: with the claim, and when the
 * server is active. Only a host's word that nothing is left lets it try another; a delete takes the instance from
 * it at any time, and then it changes nothing more and says so.
 */
export const bootSaga: Saga<Conductor, BootParams> = {
  name: 'boot',
  version: 1,
  steps: [
    claimFirst,
    spawn(1),
    ...ALTERNATES.flatMap((nth) => [claimAlternate(nth), spawn(nth)]),
    activate,
    giveUpStep,
    reportPreempted,
  ],
}
