import type { HostFilter } from '../filter.ts'

export const affinityFilter: HostFilter = {
  name: 'ServerGroupAffinityFilter',
  concerns: ({ group }) => group?.policy === 'affinity',
  refuse: ({ hostId }, { group }) => {
    if (group?.policy !== 'affinity' || group.members.size === 0) return undefined
    return group.members.has(hostId) ? undefined : "is not the host of the server's group"
  },
}

export const antiAffinityFilter: HostFilter = {
  name: 'ServerGroupAntiAffinityFilter',
  concerns: ({ group }) => group?.policy === 'anti-affinity',
  refuse: ({ hostId }, { group }) => {
    if (group?.policy !== 'anti-affinity') return undefined
    const members = group.members.get(hostId) ?? 0
    return members < group.maxPerHost ? undefined : `has ${members} of the servers of its group`
  },
}
