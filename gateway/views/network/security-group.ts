import type { SecurityGroup } from '../../db/network.ts'
import { describedView } from './described.ts'
import { ruleView } from './security-group-rule.ts'

export function securityGroupView(group: SecurityGroup) {
  return {
    ...describedView(group),
    stateful: true,
    shared: false,
    security_group_rules: group.rules.map(ruleView),
  }
}
