import type { Cloud } from './cloud.ts'
import { type DrivenHost, startDrivenHost } from './driven-host.ts'
import { nestedSettingsFor } from './nested-settings.ts'

/** A host of the cloud's first cell that is an administrator's project of another one; up once this resolves. */
export function startAdminNested(cloud: Cloud, child: Cloud): Promise<DrivenHost> {
  const { user, password, project } = child.foundation.accounts.admin
  return startDrivenHost(cloud, 'nested', { ...nestedSettingsFor(child), user, password, project })
}
