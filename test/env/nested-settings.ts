import type { Cloud } from './cloud.ts'

/** The settings of a nested driver for the demo project of a cloud on this machine. */
export function nestedSettingsFor(child: Cloud): Readonly<Record<string, string>> {
  const { user, password, project } = child.foundation.accounts.demo
  return {
    auth_url: `${child.endpoints[0]}/identity`,
    user,
    password,
    project,
    networks: '127.0.0.0/8',
    allow_http: 'true',
    hypervisor_type: 'fake',
    projects: 'any',
    poll_ms: '50',
    idle_poll_ms: '200',
    requests_per_second: '1000',
  }
}
