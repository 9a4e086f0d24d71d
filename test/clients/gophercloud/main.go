// Drives gophercloud through the life of a server. Argument: full, for every call.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/keypairs"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/schedulerhints"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/servergroups"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/extensions/startstop"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/openstack/imageservice/v2/images"
	"github.com/gophercloud/gophercloud/openstack/networking/v2/networks"
)

const (
	limitSeconds = 60
	pause        = 100 * time.Millisecond
)

// Cloud is what the steps of the walk share.
type Cloud struct {
	compute, image, network *gophercloud.ServiceClient
	flavors                 map[string]string
	imageID, networkID      string
	server                  *servers.Server
	seen                    map[string]interface{}
	states                  [][2]string
}

func main() {
	cloud := connect()
	cloud.lookAround()
	cloud.boot()
	cloud.act("stop", "SHUTOFF", startstop.Stop(cloud.compute, cloud.server.ID).Err)
	cloud.act("start", "ACTIVE", startstop.Start(cloud.compute, cloud.server.ID).Err)
	if len(os.Args) > 1 && os.Args[1] == "full" {
		cloud.everyAction()
		cloud.everythingElse()
	}
	cloud.end()
	cloud.seen["states"] = cloud.states
	must(json.NewEncoder(os.Stdout).Encode(cloud.seen))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		panic(err)
	}
}

func connect() *Cloud {
	provider, err := openstack.AuthenticatedClient(gophercloud.AuthOptions{
		IdentityEndpoint: os.Getenv("OS_AUTH_URL"),
		Username:         os.Getenv("OS_USERNAME"),
		Password:         os.Getenv("OS_PASSWORD"),
		TenantName:       os.Getenv("OS_PROJECT_NAME"),
		DomainID:         "default",
	})
	must(err)
	region := gophercloud.EndpointOpts{Region: os.Getenv("OS_REGION_NAME")}
	cloud := &Cloud{seen: map[string]interface{}{}, flavors: map[string]string{}}
	cloud.compute, err = openstack.NewComputeV2(provider, region)
	must(err)
	cloud.image, err = openstack.NewImageServiceV2(provider, region)
	must(err)
	cloud.network, err = openstack.NewNetworkV2(provider, region)
	must(err)
	return cloud
}

func (cloud *Cloud) lookAround() {
	page, err := flavors.ListDetail(cloud.compute, nil).AllPages()
	must(err)
	sizes, err := flavors.ExtractFlavors(page)
	must(err)
	for _, size := range sizes {
		cloud.flavors[size.Name] = size.ID
	}
	cloud.seen["flavor"] = sizes[0]
	page, err = images.List(cloud.image, images.ListOpts{Name: "tiny"}).AllPages()
	must(err)
	found, err := images.ExtractImages(page)
	must(err)
	cloud.imageID = found[0].ID
	page, err = networks.List(cloud.network, networks.ListOpts{Name: "private"}).AllPages()
	must(err)
	nets, err := networks.ExtractNetworks(page)
	must(err)
	cloud.networkID = nets[0].ID
}

func (cloud *Cloud) boot() {
	_, err := keypairs.Create(cloud.compute, keypairs.CreateOpts{Name: "go-key", PublicKey: os.Getenv("PUBLIC_KEY")}).Extract()
	must(err)
	group, err := servergroups.Create(cloud.compute, servergroups.CreateOpts{Name: "go-group", Policies: []string{"anti-affinity"}}).Extract()
	must(err)
	options := schedulerhints.CreateOptsExt{
		CreateOptsBuilder: keypairs.CreateOptsExt{
			KeyName: "go-key",
			CreateOptsBuilder: servers.CreateOpts{
				Name:      "go-1",
				ImageRef:  cloud.imageID,
				FlavorRef: cloud.flavors["m1.tiny"],
				Networks:  []servers.Network{{UUID: cloud.networkID}},
				Metadata:  map[string]string{"a": "b"},
				UserData:  []byte("#!/bin/sh"),
			},
		},
		SchedulerHints: schedulerhints.SchedulerHints{Group: group.ID},
	}
	cloud.server, err = servers.Create(cloud.compute, options).Extract()
	must(err)
	cloud.until("ACTIVE")
	cloud.seen["shown"] = cloud.show()
	page, err := servers.List(cloud.compute, servers.ListOpts{Name: "go-1", Limit: 1}).AllPages()
	must(err)
	listed, err := servers.ExtractServers(page)
	must(err)
	cloud.seen["listed"] = len(listed)
	group, err = servergroups.Get(cloud.compute, group.ID).Extract()
	must(err)
	cloud.seen["members"] = len(group.Members)
	must(servergroups.Delete(cloud.compute, group.ID).ExtractErr())
}

func (cloud *Cloud) show() *servers.Server {
	found, err := servers.Get(cloud.compute, cloud.server.ID).Extract()
	must(err)
	return found
}

// until returns once the server's status is the wanted one; an error ends the program at once.
func (cloud *Cloud) until(wanted string) {
	for deadline := time.Now().Add(limitSeconds * time.Second); ; time.Sleep(pause) {
		found := cloud.show()
		if found.Status == wanted {
			return
		}
		if found.Status == "ERROR" || time.Now().After(deadline) {
			must(fmt.Errorf("%s is %s, not %s: %s", found.Name, found.Status, wanted, found.Fault.Message))
		}
	}
}

func (cloud *Cloud) act(name, wanted string, err error) {
	must(err)
	cloud.until(wanted)
	cloud.states = append(cloud.states, [2]string{name, wanted})
}

func (cloud *Cloud) end() {
	snapshot, err := servers.CreateImage(cloud.compute, cloud.server.ID, servers.CreateImageOpts{Name: "go-snap"}).ExtractImageID()
	must(err)
	must(gophercloud.WaitFor(limitSeconds, func() (bool, error) {
		found, err := images.Get(cloud.image, snapshot).Extract()
		return err == nil && found.Status == images.ImageStatusActive, err
	}))
	found, err := images.Get(cloud.image, snapshot).Extract()
	must(err)
	cloud.seen["snapshot"] = found.Name
	must(servers.Delete(cloud.compute, cloud.server.ID).ExtractErr())
	must(gophercloud.WaitFor(limitSeconds, func() (bool, error) {
		_, err := servers.Get(cloud.compute, cloud.server.ID).Extract()
		if _, gone := err.(gophercloud.ErrDefault404); gone {
			return true, nil
		}
		return false, err
	}))
	cloud.seen["gone"] = true
	must(keypairs.Delete(cloud.compute, "go-key").ExtractErr())
}
