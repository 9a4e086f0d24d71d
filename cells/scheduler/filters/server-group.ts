import type { Filter } from '../filter.ts'

export const affinityFilter: Filter = {
  name: 'ServerGroupAffinityFilter',
  refuse: ({ hostId }, { group }) => {
    if (group?.policy !== 'affinity' || group.members.size === 0) return undefined
    return group.members.has(hostId) ? undefined : "is not the host of the server's group"
  },
}

export const antiAffinityFilter: Filter = {
  name: 'ServerGroupAntiAffinityFilter',
  refuse: ({ hostId }, { group }) => {
    if (group?.policy !== 'anti-affinity') return undefined
    const members = group.members.get(hostId) ?? 0
    return members < group.maxPerHost ? undefined : `has ${members} of the servers of its group`
  },
}
