import { existsSync, writeFileSync } from 'node:fs'
import { isRenewalDue, readCredential } from '#common/bus/credential.ts'
import { systemClock } from '#common/clock.ts'
import type { Env } from '#common/env.ts'
import {
  type BusRights,
  OPERATOR_PERMISSIONS,
  SERVER_SIDE_PERMISSIONS,
} from '#gateway/bus/accounts.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { configFromEnv } from '#gateway/config.ts'

const OWNER_ONLY = 0o600

/**
 * Afterwards a gateway that has the seeds of its accounts has credentials too, each with half of its life left at least: a
 * container begins without the files that its predecessor wrote.
 */
export async function ensureGatewayCredentials(env: Env): Promise<void> {
  const { natsCredentialsFile, natsAccountSeed, natsOperator, processName } = configFromEnv(env)
  await ensure(natsCredentialsFile, natsAccountSeed, processName, SERVER_SIDE_PERMISSIONS)
  await ensure(
    natsOperator?.systemCredentialsFile,
    natsOperator?.systemSeed,
    processName,
    OPERATOR_PERMISSIONS,
  )
}

async function ensure(
  file: string | undefined,
  seed: string | undefined,
  name: string,
  permissions: BusRights,
): Promise<void> {
  if (file === undefined || seed === undefined) return
  if (existsSync(file) && !isRenewalDue(readCredential(file), systemClock.now())) return
  writeFileSync(file, await issueCredentials(name, seed, permissions), { mode: OWNER_ONLY })
}
